"""Commands as targets: a program with arguments and no shell, in a clean place, alone, watched, and ended as a whole."""
