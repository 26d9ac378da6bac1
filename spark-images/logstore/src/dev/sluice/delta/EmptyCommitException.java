package dev.sluice.delta;

/** There was nothing to commit, and nothing was. */
public final class EmptyCommitException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    EmptyCommitException() {
        super("the commit would change nothing of the table, and was not made");
    }
}
