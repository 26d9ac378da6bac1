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
 * <p>New rows must be where the promise holds. Rows that DELETE, UPDATE and MERGE only write again may stay in a
 * partition from which the same commit removes files, wherever that is; so may those of a commit that changes no data.
 */
public final class CommitGate {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Set<String> KEEPING_ROWS = Set.of("DELETE", "UPDATE", "MERGE");
    private static final int SHOWN = 5;

    private enum State { OPEN, NOTHING_MAY_BE_ADDED, PROMISED }

    private record Guard(State state, PartitionCondition promise, String why) {}

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

    static void check(Path path, List<String> actions) throws IOException {
        Guard now = guard;
        if (now.state() == State.OPEN) {
            return;
        }
        List<JsonNode> added = new ArrayList<>();
        Set<Map<String, String>> rewritten = new HashSet<>();
        String operation = "";
        for (String line : actions) {
            JsonNode action = JSON.readTree(line);
            if (action.has("add")) {
                added.add(action.get("add"));
            } else if (action.has("remove") && action.get("remove").hasNonNull("partitionValues")) {
                rewritten.add(valuesOf(action.get("remove").get("partitionValues")));
            } else if (action.has("commitInfo")) {
                operation = action.get("commitInfo").path("operation").asText();
            }
        }
        Set<String> outside = new HashSet<>();
        for (JsonNode file : added) {
            JsonNode partition = file.path("partitionValues");
            boolean changesData = file.path("dataChange").asBoolean(true);
            boolean mayStay = !changesData || KEEPING_ROWS.contains(operation);
            if (mayStay && rewritten.contains(valuesOf(partition))) {
                continue;
            }
            if (now.state() != State.PROMISED) {
                outside.add(partition.toString());
            } else if (!now.promise().holds(partition)) {
                outside.add(now.promise().named(partition));
            }
        }
        if (!outside.isEmpty()) {
            throw new PromiseBrokenException(told(now, operation, outside));
        }
        PASSED.add(path.toString());
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
