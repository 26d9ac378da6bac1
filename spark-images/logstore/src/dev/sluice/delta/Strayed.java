package dev.sluice.delta;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/** What of a commit lies in other partitions than its statement was judged to touch. */
public final class Strayed {

    private static final ObjectMapper JSON = new ObjectMapper();

    private Strayed() {}

    /**
     * @param commit the commit's file in the log
     * @param adds where files may be added; null: anywhere
     * @param removes where files may be removed; null: anywhere
     * @return for people, the first of each such partition, by its name
     */
    public static List<String> of(
            String commit, Configuration conf, PartitionCondition adds, PartitionCondition removes, int most)
            throws IOException {
        Path path = new Path(commit);
        Set<String> found = new TreeSet<>();
        boolean addsAgain = false;
        try (BufferedReader lines = new BufferedReader(
                new InputStreamReader(path.getFileSystem(conf).open(path), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                JsonNode action = JSON.readTree(line);
                if (found.size() == most) {
                    break;
                }
                if (action.has("commitInfo")) {
                    addsAgain = Operations.addsFilesAgain(action.get("commitInfo").path("operation").asText());
                } else if (adds != null && action.has("add")) {
                    JsonNode file = action.get("add");
                    JsonNode partition = file.path("partitionValues");
                    boolean isNew = !addsAgain || file.path("dataChange").asBoolean(true);
                    if (isNew && !adds.holds(partition)) {
                        found.add("adds to " + adds.named(partition));
                    }
                } else if (removes != null && action.has("remove")) {
                    JsonNode partition = action.get("remove").get("partitionValues");
                    if (partition == null) {
                        throw new IOException(commit + " doesn't tell from which partitions it removes files");
                    }
                    if (!removes.heldFor(partition)) {
                        found.add("removes from " + removes.named(partition));
                    }
                }
            }
        }
        return List.copyOf(found);
    }
}
