"""Plans -> charts: paths, axes and legends for the page's template, each colour a class of its style."""
