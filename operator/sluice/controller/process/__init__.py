"""What any operator process needs: configuration, logs, clocks, threads, health, HTTP, metrics."""
