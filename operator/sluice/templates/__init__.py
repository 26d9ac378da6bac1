"""What may be said in the pod templates of profiles and in the templates of users' own applications. What a Spark operator makes of
them is not known here."""

from sluice.templates.checks import problems_in, settings_in

__all__ = ["problems_in", "settings_in"]
