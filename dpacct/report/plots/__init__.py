"""Pictures: one style, one file for each kind, and titles that state what was found."""

from dpacct.report.plots import plot as plot
