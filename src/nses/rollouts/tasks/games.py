"""Names of Atari games, without the emulator."""


def letters(game: str) -> str:
    """What all spellings of a game have in common: MsPacman is ms_pacman."""
    return "".join(filter(str.isalnum, game.lower()))
