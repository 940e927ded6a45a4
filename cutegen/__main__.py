"""``python -m cutegen`` is the ``cutegen`` program."""

from cutegen.cli import main

main()
