"""The service against a real Keycloak: `make keycloak`. The first run downloads 176 MB and needs Java 17 and Maven."""
