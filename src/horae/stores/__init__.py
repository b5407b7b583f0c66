"""Where Horae keeps what it must not forget: one room for each kind of store, all with the same promises."""
