package dev.sluice.delta;

import io.delta.storage.S3SingleDriverLogStore;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A LogStore for S3 that any number of drivers may use on one table: a commit is a PUT that the store is asked to refuse
 * if the object is there ({@code If-None-Match: *}).
 *
 * <p>All else is Delta's own for S3, whose commits only one driver's lock keeps apart. Every driver that writes a table
 * must use this class: beside another it protects nothing.
 *
 * <p>Needs {@code s3a:} of Hadoop 3.4.2 or later, and a store that keeps the condition, which is tried once for each
 * bucket before the first commit.
 */
public class S3ConditionalLogStore extends S3SingleDriverLogStore {

    private static final Set<String> TRIED = ConcurrentHashMap.newKeySet();
    private static final Set<String> TRIED_IN_PARTS = ConcurrentHashMap.newKeySet();

    /** The least that S3 takes for a part: what is shorter goes in one request, whatever the size of parts is set to. */
    private static final long LEAST_PART = 5L << 20;

    private static final String PARTS_ENABLED = "fs.s3a.multipart.uploads.enabled";

    public S3ConditionalLogStore(Configuration initHadoopConf) {
        super(initHadoopConf);
    }

    /** Raises unless the store of this table keeps commits apart. A job asks before it computes anything. */
    public static void refuseUnsafe(String table, Configuration hadoopConf) throws IOException {
        Path log = new Path(table, "_delta_log");
        refuseUnsafe(log, log.getFileSystem(hadoopConf), false);
    }

    @Override
    public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration hadoopConf)
            throws IOException {
        if (overwrite) {
            super.write(path, actions, true, hadoopConf);
            return;
        }
        List<String> all = new ArrayList<>(); // a store may ask to send them once more
        actions.forEachRemaining(all::add);
        FileSystem fs = path.getFileSystem(hadoopConf);
        refuseUnsafe(path.getParent(), fs, false);
        // The file system's own configuration has what is set for this bucket alone.
        if (fs.getConf().getBoolean(PARTS_ENABLED, true) && bytesOfAtMost(all) >= LEAST_PART) {
            refuseUnsafe(path.getParent(), fs, true);
        }
        new ConditionalCreate(fs, path, all).write();
    }

    private static void refuseUnsafe(Path log, FileSystem fs, boolean inParts) throws IOException {
        Set<String> tried = inParts ? TRIED_IN_PARTS : TRIED;
        String bucket = fs.getUri().toString();
        if (!tried.contains(bucket)) {
            new ConditionalTrial(fs, log, inParts).run();
            tried.add(bucket);
        }
    }

    /** A character has at most three bytes: two of them make one of four. */
    private static long bytesOfAtMost(List<String> lines) {
        return lines.stream().mapToLong(line -> 3L * line.length() + 1).sum();
    }
}
