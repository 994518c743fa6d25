"""Plans -> figures of plotly, as plain JSON: traces and a layout, each colour a name of the page's style."""
