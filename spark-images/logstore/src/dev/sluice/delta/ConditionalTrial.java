package dev.sluice.delta;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Finds out whether a store keeps the condition of a conditional PUT. Some take it, say that all went well, and write
 * over what is there: two drivers would lose commits to each other, and neither would know.
 *
 * <p>A small hidden object in the log stays for good. Whoever finds it there needs one request: to be refused is the
 * proof.
 */
final class ConditionalTrial {

    static final String NAME = ".sluice-conditional-writes";

    private static final String CONTENT =
            "Sluice tries with this object whether the store refuses to write over what is there. It may be deleted. ";

    /** Hadoop's word for 412, the one answer that says that the store has looked; as text, as in ConditionalCreate. */
    private static final String REFUSED = "org.apache.hadoop.fs.s3a.RemoteFileChangedException";

    private static final int MOST_TRIES = 4;

    private final FileSystem fs;
    private final Path object;
    private final boolean inParts;

    /** In parts: some stores keep the condition of a whole object alone. */
    ConditionalTrial(FileSystem fs, Path log, boolean inParts) {
        this.fs = fs;
        this.object = new Path(log, NAME);
        this.inParts = inParts;
    }

    void run() throws IOException {
        Throwable answer = null;
        int written = 0;
        for (int tries = 0; tries < MOST_TRIES && written < 2; tries++) {
            try {
                // No two have the same text: otherwise another's would be taken for this one.
                new ConditionalCreate(fs, object, List.of(CONTENT + UUID.randomUUID()), inParts).write();
                written++;
            } catch (FileAlreadyExistsException there) {
                answer = there.getCause();
                if (answer != null && answer.getClass().getName().equals(REFUSED)) {
                    return;
                }
            } catch (UnknownOutcomeException failure) {
                // As far as a commit goes it is well known: there was none. Hadoop's own words don't tell the bucket.
                throw new IOException(
                        object + " can't be written, so nothing can be committed there: " + failure.failure().getMessage(),
                        failure.failure());
            }
        }
        throw written == 2 ? overwritten() : undecided(answer);
    }

    private UnsafeStoreException overwritten() {
        return new UnsafeStoreException(
                "the store of " + object + " wrote over an object that was there, although it was asked not to (If-None-Match: *"
                        + (inParts ? ", for an object in parts" : "") + "): drivers that commit there can lose each other's commits,"
                        + " and nothing was committed. Keep the table on a store that has conditional writes, or remove this LogStore"
                        + " from the runtime profile: then its jobs run one at a time");
    }

    private UnsafeStoreException undecided(Throwable answer) {
        return new UnsafeStoreException(
                "it can't be found out whether the store of " + object + " keeps the commits of several drivers apart: asked to"
                        + " write over nothing (If-None-Match: *), it answered " + answer
                        + ". Nothing was committed. If it has no conditional writes, remove this LogStore from the runtime profile");
    }
}
