"""How well a critic blames, on plants whose cause is known."""
