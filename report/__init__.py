"""Plans -> a report: one HTML file that opens anywhere, and a text for a pull request."""
