"""Tables that change."""

from dualflow.lookup.tables import MutableHashTable as MutableHashTable
