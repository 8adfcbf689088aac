#!/usr/bin/env bash
# Installs a wheel into an empty environment and tries it from an empty folder: tests/packaging/smoke.sh FILE.whl
set -euo pipefail

if [[ $# -ne 1 || ! -f "$1" ]]; then
    echo "Expected the path of a wheel, got '$*'; \`make dist\` builds one into dist/." >&2
    exit 2
fi
wheel=$(realpath "$1")
constraints=$(realpath "$(dirname "$0")/../../constraints.txt")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset PYTHONPATH

"${PYTHON:-python3}" -m venv "$folder/venv"
# First alone: the streaming GP, whose other parts name the extra that they need.
"$folder/venv/bin/python" -m pip install --quiet -c "$constraints" "$wheel"
(
    cd "$folder"
    venv/bin/python -c "import gpvae, torch; x = torch.linspace(0, 9, 99); print(gpvae.OnlineGP().update(x, x.sin()))"
    venv/bin/gpvae fit -c toy_legs 2>&1 | grep -q "gpvae\[train\]"
)
"$folder/venv/bin/python" -m pip install --quiet -c "$constraints" "$wheel[train]"

mkdir "$folder/empty"
cd "$folder/empty"
PATH="$folder/venv/bin:$PATH"
set -x
python -c "import gpvae, gpvae.datamodules, gpvae.callbacks; assert gpvae.__file__.startswith('$folder/venv'), gpvae.__file__"
gpvae --version
gpvae --help > help.txt
gpvae configs
lightning fit -c toy_legs --data.stop_after 2
gpvae configs toy_coss --output mine
gpvae fit -c mine/toy_coss.yaml --data.stop_after 2 --figures.enabled false
gpvae summary runs
gpvae report runs --output report.html
grep -q toy_coss report.html
