package dev.sluice.delta;

import java.io.IOException;

/** The store didn't say whether a commit was made. It may be there, or may still come: only the table's log knows. */
public final class UnknownOutcomeException extends IOException {

    private static final long serialVersionUID = 1L;

    private final transient IOException failure;

    UnknownOutcomeException(String message, IOException failure) {
        super(message, failure);
        this.failure = failure;
    }

    /** What the store did instead of answering. */
    IOException failure() {
        return failure;
    }
}
