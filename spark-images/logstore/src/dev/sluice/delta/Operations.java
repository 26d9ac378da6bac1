package dev.sluice.delta;

import java.util.Set;

/** What is known of operations, by their names in the log. */
final class Operations {

    private static final Set<String> ADDING_AGAIN = Set.of("ROW TRACKING BACKFILL", "COMPUTE STATS");

    private Operations() {}

    /** Whether files that it adds without a change of data are those that are there already, told more of. */
    static boolean addsFilesAgain(String operation) {
        return ADDING_AGAIN.contains(operation);
    }
}
