package dev.sluice.tests;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;

/**
 * The actions of a commit, which end only when a test lets them: by then its LogStore has written all but the file's name.
 *
 * <p>Conflicts between writers depend on who commits when; only a writer that is held at this point makes them happen
 * on purpose. The test names a folder in {@code sluice.test.freezeDir} (for Spark: {@code
 * spark.hadoop.sluice.test.freezeDir}) and puts a file {@code <tag>.freeze} there. A commit whose {@code userMetadata}
 * is the tag, or is JSON in which the tag is a string of its own (such as the run key of a stamp), writes {@code
 * <tag>.frozen} and goes on when {@code <tag>.freeze} is gone. Tags are letters, digits, '.', '_' and '-'. Where no
 * folder is named, no commit waits.
 */
final class HeldCommit implements Iterator<String> {

    private static final String FOLDER = "sluice.test.freezeDir";
    private static final String SUFFIX = ".freeze";
    private static final long POLL_MILLIS = 5;

    private final Iterator<String> actions;
    private final Path folder;
    private final StringBuilder seen = new StringBuilder();

    HeldCommit(Iterator<String> actions, Configuration hadoopConf) {
        this.actions = actions;
        String named = hadoopConf.getTrimmed(FOLDER);
        this.folder = named == null ? null : Paths.get(named);
    }

    @Override
    public boolean hasNext() {
        if (actions.hasNext()) {
            return true;
        }
        try {
            holdIfFrozen();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        return false;
    }

    @Override
    public String next() {
        String action = actions.next();
        seen.append(action).append('\n');
        return action;
    }

    private void holdIfFrozen() throws IOException {
        if (folder == null || !Files.isDirectory(folder)) {
            return;
        }
        try (DirectoryStream<Path> wanted = Files.newDirectoryStream(folder, "*" + SUFFIX)) {
            for (Path freeze : wanted) {
                String name = freeze.getFileName().toString();
                String tag = name.substring(0, name.length() - SUFFIX.length());
                if (carries(tag)) {
                    Files.write(freeze.resolveSibling(tag + ".frozen"), new byte[0]);
                    waitUntilGone(freeze);
                }
            }
        }
    }

    /** The tag as the whole of userMetadata, or quoted inside it: there quotes are escaped, being JSON within JSON. */
    private boolean carries(String tag) {
        return seen.indexOf("\"userMetadata\":\"" + tag + "\"") >= 0 || seen.indexOf("\\\"" + tag + "\\\"") >= 0;
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
