package dev.sluice.delta;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * Keeps commits that change nothing of a table out of its log. Whether a batch of a stream has rows is known for nothing once they
 * are written, and before that only by reading for them.
 */
public final class EmptyCommits {

    private static volatile boolean areRefused = false;

    private EmptyCommits() {}

    /** From now on, for all of this JVM, or no more. */
    public static void refuse(boolean now) {
        areRefused = now;
    }

    /** The same actions, once there is one that changes something; of those only the first few are held. */
    static Iterator<String> checked(Iterator<String> actions) {
        if (!areRefused) {
            return actions;
        }
        List<String> first = new ArrayList<>();
        while (actions.hasNext()) {
            String action = actions.next();
            first.add(action);
            if (!changesNothing(action)) {
                return new Both(first.iterator(), actions);
            }
        }
        throw new EmptyCommitException();
    }

    private static boolean changesNothing(String action) {
        return action.isBlank() || action.startsWith("{\"commitInfo\":") || action.startsWith("{\"txn\":");
    }

    private record Both(Iterator<String> first, Iterator<String> rest) implements Iterator<String> {

        @Override
        public boolean hasNext() {
            return first.hasNext() || rest.hasNext();
        }

        @Override
        public String next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            return first.hasNext() ? first.next() : rest.next();
        }
    }
}
