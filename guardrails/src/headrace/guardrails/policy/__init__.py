"""What a site's rules say of a request: Cedar rules, the facts they see, the decision and its record."""
