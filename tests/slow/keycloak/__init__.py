"""The service against a real Keycloak: `make keycloak`, which CI runs. Maven downloads 176 MB, unless it has them."""
