"""The end of a program that ran code of others."""

from commands import nses_command


def test_m5_a_thread_that_an_environment_left_does_not_keep_the_command_alive(tmp_path):
    words = ("--recipe", "smoke", "--max-steps", "10", "--no-tensorboard", "--no-pictures")
    done = nses_command(tmp_path, "train", "hostile:Lingers", *words, "--backend", "serial")
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(tmp_path.rglob("best.safetensors"))
