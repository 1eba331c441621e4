"""Texts as vectors: models, where they run, and the representations that they leave in the database.

- ``profile``    what must be known of a model to use it
- ``embedder``   the one form that every model has for its callers
- ``wordpiece``  texts as the ids of a BERT vocabulary
- ``packaged``   the model that comes inside a Maven package
- ``model``      a model in ONNX, in this process
- ``child``      the process in which such a model runs
- ``local``      an embedder whose model runs in that process
- ``endpoint``   an embedder that asks an OpenAI-compatible service
- ``choice``     from a setting to an embedder
- ``representations``  vectors in the database: written, counted, searched
- ``removal``    takes a model's vectors out of it again
- ``filler``     has every node represented, in the background
"""
