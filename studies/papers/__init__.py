"""Tables and figures of the papers, one module each; ``./dev reproduce NAME`` runs one."""
