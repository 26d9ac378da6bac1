"""An installation as a whole: its status, its operator's pods, its Redis password, its end."""
