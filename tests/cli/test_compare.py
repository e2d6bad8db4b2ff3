"""`nses compare`."""

from pathlib import Path

import pytest

from commands import SMOKE, call

pytestmark = pytest.mark.usefixtures("own_folder")


def test_compare_of_one_run_makes_its_page_and_of_several_one_for_all(capsys, run_dir):
    code, out, _ = call(capsys, "compare", run_dir)
    assert code == 0
    assert f"{run_dir}/report.html" in out
    assert Path(run_dir, "report.html").exists()
    assert Path(run_dir, "comparison/table.csv").exists()
    call(capsys, "train", "point-trap", *SMOKE, "--algorithm", "es")
    code, out, _ = call(capsys, "compare", "runs", "--paper")
    assert code == 0
    assert "es, nsra-es: only one run each, so no interval and no test" in out
    assert "against" not in out.partition("note:")[0]
    assert "(quoted)" in out
    assert Path("runs/report.html").exists()


def test_compare_needs_runs(capsys, tmp_path):
    code, _, err = call(capsys, "compare", str(tmp_path))
    assert code == 2
    assert "holds no run" in err
    assert call(capsys, "compare")[0] == 2
