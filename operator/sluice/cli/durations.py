"""Durations as people say them."""


def lasting(milliseconds: float) -> str:
    """A time as people say it, in its two largest units."""
    seconds = milliseconds / 1000
    if seconds < 60:
        return f"{seconds:.0f}s" if seconds >= 10 or seconds == int(seconds) else f"{seconds:.1f}s"
    minutes = round(seconds / 60) if seconds >= 3600 else int(seconds // 60)
    if seconds < 3600:
        rest = round(seconds - minutes * 60)
        return f"{minutes + rest // 60}m" + (f" {rest}s" if 0 < rest < 60 else "")
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours}h" + (f" {minutes}m" if minutes else "")
    days, hours = divmod(hours, 24)
    return f"{days:,}d" + (f" {hours}h" if hours else "")
