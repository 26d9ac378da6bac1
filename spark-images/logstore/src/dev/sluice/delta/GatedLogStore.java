package dev.sluice.delta;

import io.delta.storage.CloseableIterator;
import io.delta.storage.LogStore;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/**
 * Asks {@link CommitGate} and {@link EmptyCommits} before each commit, and leaves everything else to the LogStore that would serve the path.
 *
 * <p>Which one that is, {@code sluice.gate.<scheme>} says, or {@code sluice.gate.any} for all schemes (for Spark with
 * {@code spark.hadoop.} before it).
 */
public final class GatedLogStore extends LogStore {

    static final String INNER = "sluice.gate.";
    static final String ANY = INNER + "any";

    /** A version, or one that a commit coordinator is still to give its name. */
    private static final Pattern COMMIT = Pattern.compile("\\d{20}(\\.[0-9a-f]{8}-[0-9a-f-]{27})?\\.json");

    private final Map<String, LogStore> inner = new ConcurrentHashMap<>();

    public GatedLogStore(Configuration initHadoopConf) {
        super(initHadoopConf);
    }

    @Override
    public CloseableIterator<String> read(Path path, Configuration hadoopConf) throws IOException {
        return innerFor(path, hadoopConf).read(path, hadoopConf);
    }

    /** Has all actions before the first is written: some stores' files are there as soon as they are begun. */
    @Override
    public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration hadoopConf)
            throws IOException {
        LogStore store = innerFor(path, hadoopConf);
        if (!COMMIT.matcher(path.getName()).matches()) {
            store.write(path, actions, overwrite, hadoopConf);
            return;
        }
        Iterator<String> checked = EmptyCommits.checked(actions);
        if (CommitGate.isOpen()) {
            store.write(path, checked, overwrite, hadoopConf);
            return;
        }
        List<String> all = new ArrayList<>();
        checked.forEachRemaining(all::add);
        CommitGate.check(path, all);
        store.write(path, all.iterator(), overwrite, hadoopConf);
    }

    @Override
    public Iterator<FileStatus> listFrom(Path path, Configuration hadoopConf) throws IOException {
        return innerFor(path, hadoopConf).listFrom(path, hadoopConf);
    }

    @Override
    public Path resolvePathOnPhysicalStorage(Path path, Configuration hadoopConf) throws IOException {
        return innerFor(path, hadoopConf).resolvePathOnPhysicalStorage(path, hadoopConf);
    }

    @Override
    public Boolean isPartialWriteVisible(Path path, Configuration hadoopConf) throws IOException {
        return innerFor(path, hadoopConf).isPartialWriteVisible(path, hadoopConf);
    }

    private LogStore innerFor(Path path, Configuration hadoopConf) throws IOException {
        String scheme = path.toUri().getScheme();
        String known = scheme != null ? scheme : path.getFileSystem(hadoopConf).getScheme();
        LogStore found = inner.get(known);
        if (found == null) {
            found = made(known);
            inner.put(known, found);
        }
        return found;
    }

    private LogStore made(String scheme) throws IOException {
        String name = initHadoopConf().getTrimmed(ANY, initHadoopConf().getTrimmed(INNER + scheme));
        if (name == null) {
            throw new IOException(INNER + scheme + " doesn't say which LogStore serves " + scheme + ":");
        }
        try {
            Class<?> found = Class.forName(name, true, Thread.currentThread().getContextClassLoader());
            return (LogStore) found.getConstructor(Configuration.class).newInstance(initHadoopConf());
        } catch (ReflectiveOperationException | ClassCastException failure) {
            throw new IOException(name + " can't be used as a LogStore of io.delta.storage", failure);
        }
    }
}
