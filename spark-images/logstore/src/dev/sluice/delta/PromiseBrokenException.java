package dev.sluice.delta;

/** A commit was refused, because it would add rows where its job promised to add none. Nothing of it was committed. */
public final class PromiseBrokenException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    PromiseBrokenException(String message) {
        super(message);
    }
}
