"""SQL as text: its statements, words and names, and how the session changes what they mean."""
