from tests.servers.stores import each_store, postgres, store_of_sites

__all__ = ["each_store", "postgres", "store_of_sites"]
