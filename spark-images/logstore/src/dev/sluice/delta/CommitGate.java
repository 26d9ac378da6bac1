package dev.sluice.delta;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;

/**
 * Lets only such commits of this JVM through as keep what its job promised. A driver runs one job, so that this is for
 * the whole JVM: no thread and no session of it gets around.
 *
 * <p>New rows must be where the promise holds. Rows that DELETE, UPDATE, MERGE and compactions only write again may stay
 * in a partition from which the same commit removes files, wherever that is. That a file changes no data, as whoever
 * writes it may say of it, counts for nothing by itself.
 */
public final class CommitGate {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Set<String> KEEPING_ROWS = Set.of("DELETE", "UPDATE", "MERGE", "OPTIMIZE", "REORG");
    private static final int SHOWN = 5;

    private enum State { OPEN, NOTHING_MAY_BE_ADDED, PROMISED }

    private record Guard(State state, PartitionCondition promise, String why) {}

    /** What the files of one commit come to. */
    private static final class Commit {
        String operation = "";
        final Set<JsonNode> added = new HashSet<>();
        final Set<Map<String, String>> rewritten = new HashSet<>();
    }

    private static final Guard OPEN = new Guard(State.OPEN, null, "");

    private static volatile Guard guard = OPEN;

    private static final Set<String> PASSED = ConcurrentHashMap.newKeySet();

    private CommitGate() {}

    /** Lets everything through, as if no job had promised anything. */
    public static void open() {
        guard = OPEN;
    }

    /** From now on commits add rows only where this holds. */
    public static void hold(PartitionCondition promise) {
        guard = new Guard(State.PROMISED, promise, "");
    }

    /** From now on no commit adds rows, for this reason. */
    public static void refuseRows(String why) {
        guard = new Guard(State.NOTHING_MAY_BE_ADDED, null, why);
    }

    /** Whether a commit, by the path of its file, has come by here and was let through. */
    public static boolean hasPassed(String path) {
        return PASSED.contains(path);
    }

    static boolean isOpen() {
        return guard.state() == State.OPEN;
    }

    static void check(Path path, List<String> actions) throws IOException {
        Guard now = guard;
        if (now.state() == State.OPEN) {
            return;
        }
        Commit commit = read(actions);
        Set<String> outside = new HashSet<>();
        for (JsonNode partition : commit.added) {
            if (KEEPING_ROWS.contains(commit.operation) && commit.rewritten.contains(valuesOf(partition))) {
                continue;
            }
            if (now.state() != State.PROMISED) {
                outside.add(partition.toString());
            } else if (!now.promise().holds(partition)) {
                outside.add(now.promise().named(partition));
            }
        }
        if (!outside.isEmpty()) {
            throw new PromiseBrokenException(told(now, commit.operation, outside));
        }
        PASSED.add(path.toString());
    }

    /** Keeps partitions alone: a commit of 100,000 files has their statistics, too. */
    private static Commit read(List<String> actions) throws IOException {
        Commit commit = new Commit();
        List<JsonNode> again = new ArrayList<>();
        for (String line : actions) {
            JsonNode action = JSON.readTree(line);
            if (action.has("add")) {
                JsonNode file = action.get("add");
                (file.path("dataChange").asBoolean(true) ? commit.added : again).add(file.path("partitionValues"));
            } else if (action.has("remove") && action.get("remove").hasNonNull("partitionValues")) {
                commit.rewritten.add(valuesOf(action.get("remove").get("partitionValues")));
            } else if (action.has("commitInfo")) {
                commit.operation = action.get("commitInfo").path("operation").asText();
            }
        }
        if (!Operations.addsFilesAgain(commit.operation)) {
            commit.added.addAll(again);
        }
        return commit;
    }

    /** Without columns that are null: those are left out where a file is removed. */
    private static Map<String, String> valuesOf(JsonNode partition) {
        Map<String, String> values = new HashMap<>();
        partition.fields().forEachRemaining(value -> {
            if (!value.getValue().isNull() && !value.getValue().asText().isEmpty()) {
                values.put(value.getKey(), value.getValue().asText());
            }
        });
        return values;
    }

    private static String told(Guard guard, String operation, Set<String> outside) {
        String more = outside.size() > SHOWN ? " and " + (outside.size() - SHOWN) + " more" : "";
        String places = String.join(", ", outside.stream().sorted().limit(SHOWN).toList()) + more;
        String what = operation + " was not committed, because it would add rows to " + places;
        return guard.state() == State.PROMISED
                ? what + ", and the job promised for all its rows: " + guard.promise().text()
                        + ". Correct the promise (spec.writes), or what the job writes"
                : what + ", " + guard.why();
    }
}
