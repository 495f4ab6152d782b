"""The process: settings read, parts joined, events followed, requests served."""
