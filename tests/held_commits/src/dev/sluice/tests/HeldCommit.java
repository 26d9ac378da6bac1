package dev.sluice.delta;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;

/**
 * Lets a test stop a writer exactly before its commit, so that another one can commit first.
 *
 * <p>Conflicts between writers depend on who commits when; only a writer that is held at this point makes them happen
 * on purpose. The test names a folder in {@code sluice.test.freezeDir} (for Spark: {@code
 * spark.hadoop.sluice.test.freezeDir}) and puts a file {@code <tag>.freeze} there. A commit whose {@code userMetadata}
 * is the tag, or is JSON in which the tag is a string of its own (such as the run key of a stamp), writes {@code
 * <tag>.frozen} and goes on when {@code <tag>.freeze} is gone. Tags are letters, digits, '.', '_' and '-'. Without the
 * setting, as everywhere but in tests, nothing is looked at.
 */
final class CommitFreeze {

    static final String FOLDER = "sluice.test.freezeDir";

    private static final String SUFFIX = ".freeze";
    private static final long POLL_MILLIS = 5;

    private final Optional<Path> folder;

    private CommitFreeze(Optional<Path> folder) {
        this.folder = folder;
    }

    static CommitFreeze from(Configuration hadoopConf) {
        return new CommitFreeze(Optional.ofNullable(hadoopConf.getTrimmed(FOLDER)).map(Paths::get));
    }

    /** A commit that stands ready. */
    interface Commit {
        String actions() throws IOException;
    }

    /** Waits as long as the commit is to be held. */
    void holdIfFrozen(Commit commit) throws IOException {
        if (folder.isEmpty() || !Files.isDirectory(folder.get())) {
            return;
        }
        String actions = commit.actions();
        try (DirectoryStream<Path> wanted = Files.newDirectoryStream(folder.get(), "*" + SUFFIX)) {
            for (Path freeze : wanted) {
                String name = freeze.getFileName().toString();
                String tag = name.substring(0, name.length() - SUFFIX.length());
                if (carries(actions, tag)) {
                    Files.write(freeze.resolveSibling(tag + ".frozen"), new byte[0]);
                    waitUntilGone(freeze);
                }
            }
        }
    }

    /** The tag as the whole of userMetadata, or quoted inside it: there quotes are escaped, being JSON within JSON. */
    private static boolean carries(String actions, String tag) {
        return actions.contains("\"userMetadata\":\"" + tag + "\"") || actions.contains("\\\"" + tag + "\\\"");
    }

    private static void waitUntilGone(Path freeze) throws IOException {
        try {
            while (Files.exists(freeze)) {
                Thread.sleep(POLL_MILLIS);
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while the commit was held by " + freeze, interrupted);
        }
    }
}
