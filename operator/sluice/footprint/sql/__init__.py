"""SQL as text: its statements, words and names, and what the session makes of them."""
