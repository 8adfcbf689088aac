#!/usr/bin/env bash
# Installs a wheel into an empty environment and tries it from an empty folder: tests/packaging/smoke.sh FILE.whl
set -euo pipefail

if [[ $# -ne 1 || ! -f "$1" ]]; then
    echo "Expected the path of a wheel, got '$*'; \`make dist\` builds one into dist/." >&2
    exit 2
fi
wheel=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset PYTHONPATH

"${PYTHON:-python3}" -m venv "$folder/venv"
PATH="$folder/venv/bin:$PATH"
mkdir "$folder/empty"
cd "$folder/empty"
echo "raise AssertionError('imported')" | tee callbacks.py > datamodules.py  # modules of the user

install() {
    python -m pip install --quiet -c "$here/../../constraints.txt" "$@"
}

set -x
# Alone, it is the streaming GP: the first lines of the README.
install "$wheel"
python -c "import importlib.util as util; assert not util.find_spec('lightning')"
awk '/^```python/ { inside = 1; next } /^```/ && inside { exit } inside' "$here/../../README.md" > lines.py
python lines.py
# What lacks an extra names it, and the extra brings all that is needed.
for extra in report train era5 grib zarr parquet sklearn river botorch; do
    if [[ $extra != sklearn ]]; then  # gpytorch brings scikit-learn
        ! python "$here/use_extra.py" $extra > refusal.txt 2>&1
        grep "pip install 'gpvae\[$extra\]'" refusal.txt
    fi
    install "$wheel[$extra]"
    python "$here/use_extra.py" $extra
done
install --dry-run --report all.json "$wheel[all]"
python -c "import json; assert not json.load(open('all.json'))['install'], 'all brings more than these extras'"

python -c "import gpvae, gpvae.datamodules, gpvae.callbacks; assert gpvae.__file__.startswith('$folder/venv'), gpvae.__file__"
gpvae --version
gpvae --help > help.txt
gpvae configs
lightning fit -c toy_legs --data.stop_after 2
gpvae configs toy_coss --output mine
python -m gpvae fit -c mine/toy_coss.yaml --data.stop_after 2 --figures.enabled false
python -c "for n in range(300): print(f'{n},{n % 7}' if n else 'x,y')" > table.csv
python -m gpvae fit -c own_table --data.paths table.csv --figures.enabled false
gpvae summary runs
gpvae report runs --output report.html
grep -q toy_coss report.html
