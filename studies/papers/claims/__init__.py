"""Every claim of the four papers that can be checked: what is claimed, how it is judged, what came out."""
