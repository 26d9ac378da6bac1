package dev.sluice.delta;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/** What commits say of a writer's transactions: to ask Delta, it computes the whole state of the table anew. */
public final class Transactions {

    private static final ObjectMapper JSON = new ObjectMapper();

    private Transactions() {}

    /**
     * @param commits the commits' files in the log, oldest first
     * @return the txn versions that they set for the appId; null if a file isn't there
     */
    public static List<Long> of(List<String> commits, String appId, Configuration conf) throws IOException {
        List<Long> found = new ArrayList<>();
        for (String commit : commits) {
            Path path = new Path(commit);
            try (BufferedReader lines = new BufferedReader(new InputStreamReader(
                    path.getFileSystem(conf).open(path), StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    // Most lines are of files, and long.
                    JsonNode txn = line.contains("\"txn\"") ? JSON.readTree(line).get("txn") : null;
                    if (txn != null && appId.equals(txn.get("appId").asText())) {
                        found.add(txn.get("version").asLong());
                    }
                }
            } catch (FileNotFoundException missing) {
                return null;
            }
        }
        return found;
    }
}
