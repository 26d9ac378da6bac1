package dev.sluice.delta;

import java.io.BufferedReader;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Makes an object that isn't there, in one step of the store, and knows its own again.
 *
 * <p>A reply may be lost, and {@code s3a:} then asks again: the store answers that the object is there, and means the one
 * that the first request made. So each carries a number of its own in its metadata, and whenever something goes wrong,
 * the object that is there is asked whose it is. If metadata don't come back, its text tells: no two commits have the same.
 * Objects of the log are never changed, so that another's proves that ours is not there, and can't come any more.
 */
final class ConditionalCreate {

    /** Hadoop's names, since 3.4.2; as text, because the class path may hold an older one. */
    private static final String ONLY_IF_ABSENT = "fs.option.create.conditional.overwrite";
    private static final String HEADER = "fs.s3a.create.header";
    private static final String IN_PARTS = "fs.s3a.create.multipart";
    private static final String MAGIC = "fs.s3a.capability.magic.output.stream";

    private static final int MOST_TRIES = 6;
    private static final long FIRST_PAUSE_MILLIS = 50;

    private static final String OWNER = "sluice-commit";
    private static final String OWNER_READ = "header." + OWNER;

    private final FileSystem fs;
    private final Path path;
    private final List<String> lines;
    private final boolean inParts;
    private final byte[] owner = UUID.randomUUID().toString().getBytes(StandardCharsets.UTF_8);

    ConditionalCreate(FileSystem fs, Path path, List<String> lines) {
        this(fs, path, lines, false);
    }

    /** In parts: as {@code s3a:} sends what is longer than a part, however short this is. */
    ConditionalCreate(FileSystem fs, Path path, List<String> lines, boolean inParts) {
        this.fs = fs;
        this.path = path;
        this.lines = lines;
        this.inParts = inParts;
    }

    /** Raises FileAlreadyExistsException if another's object is there, and anything else if only the log knows. */
    void write() throws IOException {
        FSDataOutputStream stream = filled(); // until it is closed nothing has been sent that could be seen
        for (int tries = 1; ; tries++) {
            IOException failure = failureOf(stream);
            if (failure == null || isThere(failure)) {
                return;
            }
            if (tries == MOST_TRIES || failure instanceof AccessDeniedException) {
                throw unknown(failure);
            }
            pause(tries, failure);
            try {
                stream = filled();
            } catch (IOException | RuntimeException again) {
                failure.addSuppressed(again);
                throw unknown(failure);
            }
        }
    }

    private static IOException failureOf(FSDataOutputStream stream) {
        try {
            stream.close();
            return null;
        } catch (IOException failure) {
            return failure;
        } catch (RuntimeException failure) {
            return new IOException(failure.toString(), failure);
        }
    }

    private FSDataOutputStream filled() throws IOException {
        FSDataOutputStream stream = begun();
        try {
            if (stream.hasCapability(MAGIC)) {
                throw new IOException(path + " lies below a folder __magic: objects there aren't visible when they are written");
            }
            for (String line : lines) {
                stream.write(line.getBytes(StandardCharsets.UTF_8));
                stream.write('\n');
            }
            return stream;
        } catch (Throwable failure) {
            abort(stream, failure); // to close it would be to commit half of it
            throw failure;
        }
    }

    private FSDataOutputStream begun() throws IOException {
        if (!fs.hasPathCapability(path, ONLY_IF_ABSENT) || !fs.hasPathCapability(path, HEADER)) {
            throw new UnsafeStoreException(
                    path + " can't be committed by a conditional PUT: " + fs.getClass().getName() + " offers none. It takes s3a: of"
                            + " Hadoop 3.4.2 or later, which Spark 4.2 brings, and fs.s3a.create.conditional.enabled not to be false");
        }
        FSDataOutputStreamBuilder<?, ?> builder = fs.createFile(path);
        builder.must(ONLY_IF_ABSENT, true);
        builder.must(HEADER + "." + OWNER, new String(owner, StandardCharsets.UTF_8));
        if (inParts) {
            builder.must(IN_PARTS, true);
        }
        return builder.build();
    }

    /** Whether ours is there; false if nothing is. Raises if another's is there, or if the store doesn't say. */
    private boolean isThere(IOException failure) throws IOException {
        if (wasInterrupted(failure)) {
            Thread.currentThread().interrupt(); // whoever did it waits for the thread to end
            throw unknown(failure);
        }
        try {
            if (isOwn()) {
                return true;
            }
        } catch (FileNotFoundException nothing) {
            return false;
        } catch (IOException | RuntimeException unanswered) {
            failure.addSuppressed(unanswered);
            throw unknown(failure);
        }
        throw another(failure);
    }

    /** Raises FileNotFoundException if nothing is there, or a folder, for which {@code s3a:} answers, too. */
    private boolean isOwn() throws IOException {
        for (Map.Entry<String, byte[]> header : fs.getXAttrs(path).entrySet()) {
            if (header.getKey().equalsIgnoreCase(OWNER_READ)) { // proxies change the case of headers
                return Arrays.equals(owner, header.getValue());
            }
        }
        try (BufferedReader there =
                new BufferedReader(new InputStreamReader(fs.open(path), StandardCharsets.UTF_8))) {
            for (String line : lines) {
                if (!asWritten(line).equals(there.readLine())) {
                    return false;
                }
            }
            return there.readLine() == null;
        }
    }

    /** Half of a character, which no encoding has, was written as something else. */
    private static String asWritten(String line) {
        return new String(line.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
    }

    /** Stores ask to come again (409) where requests for one object meet. The first may still arrive: it is the same one. */
    private void pause(int tries, IOException failure) throws IOException {
        try {
            Thread.sleep(FIRST_PAUSE_MILLIS << tries);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw unknown(failure);
        }
    }

    private FileAlreadyExistsException another(IOException failure) {
        FileAlreadyExistsException told = new FileAlreadyExistsException(path.toString());
        told.initCause(failure);
        return told;
    }

    private IOException unknown(IOException failure) {
        return new UnknownOutcomeException(
                "it isn't known whether " + path + " was committed: the store gave no answer to go by (" + failure.getMessage()
                        + "). Look into the table's log before the work is done again",
                failure);
    }

    /** A timeout of a socket is an InterruptedIOException, too, but nobody interrupted anything. */
    private static boolean wasInterrupted(IOException failure) {
        boolean interrupted =
                failure instanceof InterruptedIOException && !(failure instanceof SocketTimeoutException);
        return interrupted || Thread.currentThread().isInterrupted();
    }

    private static void abort(FSDataOutputStream stream, Throwable failure) {
        try {
            stream.abort();
        } catch (RuntimeException cleanup) {
            failure.addSuppressed(cleanup);
        }
    }
}
