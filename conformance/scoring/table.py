class NotesOutdated(Exception): pass
def write_table(*a): pass
