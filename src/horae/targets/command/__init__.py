"""Command target: runs an allowed program without a shell, in a clean environment, and kills its whole process tree."""
