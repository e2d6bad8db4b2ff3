"""The directory of checkpoints; tests of checkpoints put real ones into it."""

from pathlib import Path

from nses.experiment.runs.shelf import FILES, discard, retire, stored, sweep


def made(path: Path, *files: str) -> Path:
    path.mkdir()
    for name in files:
        (path / name).write_text("")
    return path


def test_checkpoints_are_found_newest_first_and_nothing_else_is(tmp_path: Path) -> None:
    for name in ("000002", "1000000", ".replaced-000003-0123abcd", ".writing-000004-0123abcd"):
        made(tmp_path / name)
    for name in ("12", "0000001", "x000001", "latest.json", ".replaced-000003-0123ABCD"):
        made(tmp_path / name)
    assert [generation for generation, _ in stored(tmp_path)] == [1_000_000, 3, 2]
    assert stored(tmp_path / "missing") == []


def test_the_last_few_every_tenth_and_all_that_are_newer_stay(tmp_path: Path) -> None:
    for generation in (0, 5, 8, 9, 10, 11, 12):
        made(tmp_path / f"{generation:06d}", *FILES)
    retire(tmp_path, generation=11, keep_last=2, keep_every=10)
    assert [generation for generation, _ in stored(tmp_path)] == [12, 11, 10, 0]


def test_only_directories_with_nothing_but_our_files_are_removed(tmp_path: Path) -> None:
    ours, foreign = made(tmp_path / "a", *FILES), made(tmp_path / "b", *FILES, "notes.txt")
    link = tmp_path / "c"
    link.symlink_to(made(tmp_path / "d", *FILES))
    for path in (ours, foreign, link, tmp_path / "missing"):
        discard(path)
    assert not ours.exists()
    assert len(list(foreign.iterdir())) == len(FILES) + 1
    assert len(list(link.iterdir())) == len(FILES)


def test_what_is_left_of_one_phase_is_swept_away(tmp_path: Path) -> None:
    writing = made(tmp_path / ".writing-000001-0123abcd", *FILES)
    replaced = made(tmp_path / ".replaced-000001-0123abcd", *FILES)
    sweep(tmp_path, "writing")
    assert (writing.exists(), replaced.exists()) == (False, True)
