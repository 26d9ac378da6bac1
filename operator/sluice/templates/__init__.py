"""What may be said in the pod templates of profiles and in the templates of users' own applications. What a Spark operator makes of
them is not known here."""

from sluice.templates.checks import problems_in, settings_in
from sluice.templates.permissions import NO_ENTRIES, JobPermission, Permissions
from sluice.templates.requested_permissions import asks_of

__all__ = ["NO_ENTRIES", "JobPermission", "Permissions", "asks_of", "problems_in", "settings_in"]
