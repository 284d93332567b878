# docker build -t skillopt/skillopt:0.1.0 .
FROM python:3.11-slim
COPY . /src
RUN pip install --no-cache-dir /src && rm -r /src
