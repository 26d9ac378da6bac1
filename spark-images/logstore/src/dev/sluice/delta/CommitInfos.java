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

/** What commits say of themselves: asking Delta for its history runs a job of Spark's, and takes as long as a small write. */
public final class CommitInfos {

    private static final ObjectMapper JSON = new ObjectMapper();

    private CommitInfos() {}

    /**
     * @param commits the commits' files in the log
     * @return the commitInfo of each as JSON, "{}" where it has none; null if a file isn't there
     */
    public static List<String> of(List<String> commits, Configuration conf) throws IOException {
        List<String> found = new ArrayList<>();
        for (String commit : commits) {
            try {
                found.add(in(new Path(commit), conf));
            } catch (FileNotFoundException missing) {
                return null;
            }
        }
        return found;
    }

    /** It is the first action of what Delta writes, and may be any of another engine's. */
    private static String in(Path commit, Configuration conf) throws IOException {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(
                commit.getFileSystem(conf).open(commit), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                JsonNode info = JSON.readTree(line).get("commitInfo");
                if (info != null) {
                    return info.toString();
                }
            }
            return "{}";
        }
    }
}
