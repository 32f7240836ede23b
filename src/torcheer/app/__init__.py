"""The app: a web server on this machine, and the page that it shows passes in. No torch in here."""
