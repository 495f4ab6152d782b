"""`make demo`: the main job on real data, told step by step."""
