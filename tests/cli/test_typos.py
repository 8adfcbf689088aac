"""A misspelt name ends the program at once, with the nearest valid name."""

from pathlib import Path

import pytest
import yaml

from tests.cli.program import CONFIG, refused, run, write_config

IN_YAML = {
    "section": ("model:", "modle:", "'model'"),
    "section of a callback": ("figures:", "figurs:", "'figures"),
    "init_args": ("init_args:", "init_arg:", "'class_path' and 'init_args'"),
    "argument of the model": ("num_inducing:", "num_inducin:", "'num_inducing'"),
    "argument of the data": ("num_tasks:", "num_taks:", "'num_tasks'"),
    "argument of a callback": ("enabled:", "enabld:", "'figures.enabled'"),
    "argument of the trainer": ("accelerator:", "acelerator:", "'trainer.accelerator'"),
    "class of the model": ("StreamingGP", "StreamingGpp", "'StreamingGP'"),
    "class of the data": ("Toy", "Toyy", "'Toy'"),
    "class of the model for data": ("Toy", "StreamingGP", "it to be 'model'"),
    "class of data for the model": ("StreamingGP", "Toy", "it to be 'data'"),
    "method": ("OHSGPR", "OHSGPRR", "'OHSGPR'"),
    "choice": ("hyperparameters: fixed", "hyperparameters: fixd", "'fixed'"),
    "kind of data": ("figure_1", "figure_11", "'figure_1'"),
}

ON_THE_COMMAND_LINE = {
    "section": (["--dat.num_tasks", "3"], "'data'"),
    "argument of the model": (["--model.num_inducin", "3"], "'num_inducing'"),
    "argument of the data": (["--data.num_taks", "3"], "'num_tasks'"),
    "argument of a callback": (["--checkpoint.every_n_stps", "3"], "'checkpoint.every_n_steps'"),
    "argument of the trainer": (["--trainer.acelerator", "cpu"], "'trainer.accelerator'"),
    "class of the data": (["--data", "Solr"], "'Solar'"),
    "class of the model": (["--model", "StreamingG"], "'StreamingGP'"),
    "method": (["--model.method", "ohsvgpp"], "'OHSVGP'"),
    "choice": (["--model.likelihood", "gausian"], "'gaussian'"),
    "optional choice": (["--model.kernel", "matern53"], "'matern52'"),
    "another optional choice": (["--model.inference", "freeform"], "'free_form'"),
    "family": (["--model.inducing", "Leg_T"], "'LegT'"),
    "option of a family": (["--model.inducing_options", "{orign: 0.0}"], "'origin'"),
    "ordering": (
        ["--model.method", "LegSPath", "--model.inducing_options", "{ordering: kernel_mx}"],
        "'kernel_max'",
    ),
}


@pytest.mark.parametrize(("right", "wrong", "meant"), IN_YAML.values(), ids=IN_YAML.keys())
def test_in_yaml(right: str, wrong: str, meant: str, tmp_path: Path) -> None:
    text = yaml.safe_dump(CONFIG)
    assert right in text
    (tmp_path / "typo.yaml").write_text(text.replace(right, wrong))
    assert f"(did you mean {meant}" in refused(tmp_path, "fit", "-c", "typo.yaml")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("args", "meant"), ON_THE_COMMAND_LINE.values(), ids=ON_THE_COMMAND_LINE.keys())
def test_on_the_command_line(args: list[str], meant: str, tmp_path: Path) -> None:
    write_config(tmp_path)
    assert f"(did you mean {meant}" in refused(tmp_path, "fit", "-c", "small.yaml", *args)
    assert not (tmp_path / "runs").exists()


def test_the_installed_program_says_so_without_a_traceback(tmp_path: Path) -> None:
    write_config(tmp_path)
    result = run(tmp_path, "fit", "-c", "small.yaml", "--model.method", "OHSGPRR")
    assert result.returncode != 0
    assert "(did you mean 'OHSGPR'?)" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "runs").exists()
