"""How soon those who listen hear of what happens, and whether the engine notices that they do."""
